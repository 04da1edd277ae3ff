# SPDX-License-Identifier: Apache-2.0
"""Cron: times, zones, clock changes, texts."""

import itertools
import sys
import unittest
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import hora

BERLIN = ZoneInfo("Europe/Berlin")


class Times(unittest.TestCase):
    def test_next_and_previous(self):
        cron = hora.Cron("0 9 * * MON-FRI", "Europe/Berlin")
        friday = datetime(2026, 3, 27, 9, 0, tzinfo=BERLIN)
        monday = datetime(2026, 3, 30, 9, 0, tzinfo=BERLIN)
        self.assertEqual(cron.next(friday), monday)
        self.assertEqual(cron.previous(monday), friday)
        self.assertIs(cron.next(friday).tzinfo, BERLIN)
        self.assertEqual(cron.next(friday).utcoffset(), timedelta(hours=2))
        self.assertEqual(cron.next(friday - timedelta(microseconds=1)), friday)

    def test_times(self):
        cron = hora.Cron("30 */6 * * *", ZoneInfo("UTC"))
        start = datetime(2026, 1, 1, tzinfo=timezone.utc)
        hours = [time.hour for time in itertools.islice(cron.times(start), 6)]
        self.assertEqual(hours, [0, 6, 12, 18, 0, 6])

    def test_matches(self):
        cron = hora.Cron("0 30 2 * * *", BERLIN)
        self.assertTrue(cron.matches(datetime(2026, 1, 1, 2, 30, tzinfo=BERLIN)))
        self.assertFalse(cron.matches(datetime(2026, 1, 1, 2, 30, 0, 1, tzinfo=BERLIN)))
        self.assertFalse(cron.matches(datetime(2026, 1, 1, 2, 30, tzinfo=timezone.utc)))

    def test_clock_changes(self):
        before = datetime(2026, 3, 29, 0, 0, tzinfo=BERLIN)  # at 02:00 the clocks show 03:00
        literal = hora.Cron("30 2 * * *", BERLIN).next(before)
        self.assertEqual(literal, datetime(2026, 3, 30, 2, 30, tzinfo=BERLIN))
        once = hora.Cron("30 2 * * *", BERLIN, dst="once").next(before)
        self.assertEqual(once, datetime(2026, 3, 29, 3, 0, tzinfo=BERLIN))
        autumn = datetime(2026, 10, 25, 0, 0, tzinfo=BERLIN)  # at 03:00 they show 02:00
        twice = list(itertools.islice(hora.Cron("30 2 * * *", BERLIN).times(autumn), 3))
        self.assertEqual([time.fold for time in twice], [0, 1, 0])
        self.assertEqual(twice[1].timestamp() - twice[0].timestamp(), 3600)

    def test_a_zone_that_only_hora_knows(self):
        time = hora.Cron("0 9 * * *", "+05:30").next(datetime(2026, 1, 1, tzinfo=timezone.utc))
        self.assertEqual(time.isoformat(), "2026-01-01T09:00:00+05:30")

    def test_local_time_of_the_machine(self):
        noon = datetime(2026, 6, 1, 12, 0)  # without a zone
        time = hora.Cron("0 13 * * *").next(noon)
        self.assertEqual(time.replace(tzinfo=None), datetime(2026, 6, 1, 13, 0))

    def test_no_time(self):
        self.assertIsNone(hora.Cron("0 0 30 2 *", "UTC").next(datetime.now(timezone.utc)))
        self.assertIsNone(hora.Cron("@reboot").next(datetime.now()))

    def test_texts(self):
        cron = hora.Cron("0 9 * * 1-5", "Europe/Berlin")
        self.assertEqual(cron.describe(), "at 09:00, Monday to Friday, Europe/Berlin")
        self.assertEqual(repr(cron), "hora.Cron('0 9 * * 1-5', 'Europe/Berlin')")
        self.assertEqual(cron, hora.Cron("0 9 * * MON-FRI", BERLIN))
        self.assertEqual(hash(cron), hash(hora.Cron("0 9 * * MON-FRI", BERLIN)))
        self.assertNotEqual(cron, hora.Cron("0 9 * * MON-FRI", "UTC"))
        self.assertNotEqual(cron, "0 9 * * 1-5")

    def test_mistakes(self):
        with self.assertRaisesRegex(ValueError, "hour") as caught:
            hora.Cron("0 24 * * *")
        self.assertEqual((caught.exception.offset, caught.exception.length), (2, 2))
        self.assertRaises(ValueError, hora.Cron, "")
        self.assertRaises(ValueError, hora.Cron, "* * * *")
        self.assertRaises(ValueError, hora.Cron, "0 9 * * *", "../etc/passwd")
        self.assertRaises(ValueError, hora.Cron, "0 9 * * *", dialect="spring")
        self.assertRaises(ValueError, hora.Cron("0 9 * * *").next, datetime(2500, 1, 1))
        self.assertRaises(ValueError, hora.Cron, "0 9 * * *\0")


if __name__ == "__main__":
    sys.exit(unittest.main())
