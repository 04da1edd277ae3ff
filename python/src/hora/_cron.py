# SPDX-License-Identifier: Apache-2.0
"""Cron: a cron expression in a time zone, and its times."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Literal, Optional, Union

from hora import _hora
from hora._time import instant, utc

Dialect = Literal["auto", "unix", "spring"]
ClockChange = Literal["literal", "once"]
Zone = Union[str, zoneinfo.ZoneInfo, None]

DIALECTS = {"spring": 0, "unix": 1}
CLOCK_CHANGES = {"literal": 0, "once": 1}


def zone_name(zone: Zone) -> str:
    """The name of a zone for hora."""
    if zone is None:
        return "local"
    if isinstance(zone, str):
        return zone
    if zone.key is None:
        raise ValueError("the zone has no name")
    return zone.key


def dialect_number(expression: str, dialect: Dialect) -> int:
    """The dialect for hora. An expression with five fields is crontab's, and so is @reboot."""
    if dialect == "auto":
        fields = len(expression.split())
        dialect = "unix" if fields == 5 or expression.strip().lower() == "@reboot" else "spring"
    if dialect not in DIALECTS:
        raise ValueError(f"dialect is {dialect!r}, which is not one of auto, {', '.join(DIALECTS)}")
    return DIALECTS[dialect]


def clock_change_number(dst: ClockChange) -> int:
    if dst not in CLOCK_CHANGES:
        raise ValueError(f"dst is {dst!r}, which is not one of {', '.join(CLOCK_CHANGES)}")
    return CLOCK_CHANGES[dst]


class Cron:
    """A cron expression in a zone.

        cron = hora.Cron("0 9 * * MON-FRI", "Europe/Berlin")
        cron.next(datetime.now(timezone.utc))

    expression   five fields as in crontab, six as in Spring (with seconds), or @daily and the like. An
                 invalid one raises ValueError, whose attributes offset and length say where the mistake is.
    zone         a name such as "Europe/Berlin" or "+05:30", or a ZoneInfo; None means that of the machine
    dialect      "auto" counts the fields; "unix" or "spring" requires that syntax
    dst          "literal": a time that the clocks skip does not occur, and one that they repeat occurs twice.
                 "once": in an expression that names times of day, each of these occurs once.
    """

    def __init__(
        self, expression: str, zone: Zone = None, *, dialect: Dialect = "auto", dst: ClockChange = "literal"
    ) -> None:
        self.expression = expression
        self.zone = zone_name(zone)
        self._dialect = dialect_number(expression, dialect)
        self._dst = clock_change_number(dst)
        self._cron = _hora.Cron(expression, self.zone, self._dialect, self._dst)
        self._tzinfo = self._find_tzinfo()

    def _find_tzinfo(self) -> Optional[tzinfo]:
        """The zone as Python knows it; None if only hora does."""
        try:
            return zoneinfo.ZoneInfo(self.zone)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            return None

    def _local(self, ns: Optional[int]) -> Optional[datetime]:
        if ns is None:
            return None
        zone = self._tzinfo or timezone(timedelta(seconds=self._cron.offset(ns)))
        return utc(ns).astimezone(zone)

    def next(self, after: datetime) -> Optional[datetime]:
        """The first time after `after`, in the zone of the expression; None if there is none.

        A datetime without a zone is local time of the machine, as everywhere in datetime.
        """
        return self._local(self._cron.next(instant(after)))

    def previous(self, before: datetime) -> Optional[datetime]:
        """The last time before `before`; None if there is none."""
        return self._local(self._cron.previous(instant(before)))

    def times(self, after: datetime) -> Iterator[datetime]:
        """All times after `after`, in order."""
        ns = self._cron.next(instant(after))
        while ns is not None:
            time = self._local(ns)
            assert time is not None
            yield time
            ns = self._cron.next(ns)

    def matches(self, time: datetime) -> bool:
        """Whether `time` is one of the times."""
        return self._cron.matches(instant(time))

    def describe(self) -> str:
        """The expression in words, such as "at 09:00 on Monday to Friday, Europe/Berlin"."""
        return self._cron.describe()

    def normal_form(self) -> str:
        """The expression in normal form: expressions that mean the same have the same one."""
        return self._cron.format()

    def _key(self) -> tuple[str, str, int, int]:
        return self.normal_form(), self.zone, self._dialect, self._dst

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cron):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"hora.Cron({self.expression!r}, {self.zone!r})"
