# SPDX-License-Identifier: Apache-2.0
"""How long tasks wait where they are steered: runs the program of the folder fairness, plots what it found"""

import csv
import subprocess
import sys

import plot

SECONDS = {"thorough": 180, "quick": 20, "smoke": 20}  # of virtual time, and so of no machine
TITLES = {
    "priorities": "Priorities: four threads, 120 % of what they can do, for three minutes",
    "keys": "Keys: four threads, one of 1,000 keys has 30 % of the tasks",
    "classes": "Classes: four threads, fast tasks of 1 ms beside bursts of slow ones of 100 ms",
}


def read(file, x, waited):
    """{workload: {pool: {kind: [(x, waited in ns)]}}}, in the order of the file."""
    found = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            pool = found.setdefault(row["workload"], {}).setdefault(row["pool"], {})
            curve = pool.setdefault(row["kind"], [])
            curve.append((float(row[x]), int(row[waited])))
    return found


def run(build, output, effort):
    """Prints the tables, writes what is known and the plots. Ends the run if something is not as promised."""
    output.mkdir(parents=True, exist_ok=True)
    shares, course = output / "fairness.tsv", output / "fairness-course.tsv"
    sys.stdout.flush()
    command = [build / "bench" / "programs" / "fairness", str(SECONDS[effort]), shares, course]
    status = subprocess.run(command, check=False).returncode
    if status != 0:
        sys.exit(f"bench: fairness: something is not as promised (status {status})")
    plots = {name: plot.curves_of_waits(TITLES[name], pools)
             for name, pools in read(shares, "share", "waited_ns").items()}
    plots["course"] = plot.courses_of_waits("Priorities: the same tasks, by the time when they came",
                                            read(course, "came_s", "longest_ns")["priorities"])
    for name, picture in plots.items():
        (output / f"fairness-{name}.svg").write_text(picture, encoding="utf-8")
    print(f"\nwritten: {shares}, {course}, {len(plots)} plots beside them")
