# SPDX-License-Identifier: Apache-2.0
"""cron_oracle.py - when cron runs an entry of a crontab, written again from its rules

Each minute is compared with the five fields, in UTC, which has no clock changes. The rule for the days is that of Vixie cron: a
field of days is free if it starts with *, even if it has a step. If one of the two is free, both must match; otherwise one of
them is enough. Days without a matching minute are passed over as a whole.
"""

from datetime import datetime, timedelta, timezone

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
WEEKDAYS = "sun mon tue wed thu fri sat".split()
WORDS = {"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
         "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *"}
FIELDS = [(0, 59, []), (0, 23, []), (1, 31, []), (1, 12, MONTHS), (0, 7, WEEKDAYS)]


def number(text, least, names):
    return least + names.index(text.lower()) if text.lower() in names else int(text)


def values(field, least, most, names):
    """The set of numbers that a field stands for."""
    result = set()
    for element in field.split(","):
        part, _, step = element.partition("/")
        first, minus, last = part.partition("-")
        if part == "*":
            low, high = least, most
        else:
            low = number(first, least, names)
            high = number(last, least, names) if minus else low
        result |= set(range(low, high + 1, int(step or 1)))
    return result


class Entry:
    def __init__(self, schedule):
        fields = WORDS.get(schedule, schedule).split()
        self.sets = [values(field, *kind) for field, kind in zip(fields, FIELDS, strict=True)]
        self.sets[4] = {day % 7 for day in self.sets[4]}
        self.has_free_day = fields[2][0] == "*" or fields[4][0] == "*"

    def matches_day(self, time):
        minutes, hours, days, months, weekdays = self.sets
        matches = time.day in days, (time.weekday() + 1) % 7 in weekdays
        return time.month in months and (all(matches) if self.has_free_day else any(matches))

    def times(self, after, count, years=9):
        """The first times after a time, as texts."""
        result = []
        day = after.replace(hour=0, minute=0, second=0)
        for _ in range(366 * years):
            for minute in range(24 * 60) if self.matches_day(day) else ():
                time = day + timedelta(minutes=minute)
                if time > after and time.minute in self.sets[0] and time.hour in self.sets[1]:
                    result.append(time.strftime("%Y-%m-%dT%H:%M:%SZ"))
                    if len(result) == count:
                        return result
            day += timedelta(days=1)
        return result


def utc(*parts):
    return datetime(*parts, tzinfo=timezone.utc)
