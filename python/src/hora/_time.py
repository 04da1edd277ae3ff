# SPDX-License-Identifier: Apache-2.0
"""Times of Python and of hora: hora counts nanoseconds, from 1970 or as a span."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Union

# A span of time: seconds, or a timedelta.
Duration = Union[float, timedelta]

FOREVER = 2**63 - 1  # as a span: without a limit
NEVER = -(2**63)  # as a time: there is none
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)


def span(duration: Duration) -> int:
    """Nanoseconds of a duration; a duration that is too long counts as the longest one."""
    if isinstance(duration, timedelta):
        ns = duration // MICROSECOND * 1000
    elif math.isnan(duration):
        raise ValueError("a duration is not a number")
    elif math.isinf(duration):
        ns = FOREVER if duration > 0 else -FOREVER
    else:
        ns = round(duration * 1_000_000_000)
    return max(-FOREVER, min(ns, FOREVER))


def instant(time: datetime) -> int:
    """Nanoseconds since 1970. A naive time is local time, as everywhere in datetime."""
    ns = (time.astimezone(timezone.utc) - EPOCH) // MICROSECOND * 1000
    if not NEVER < ns < FOREVER:
        raise ValueError(f"{time} is not between the years 1677 and 2262")
    return ns


def utc(ns: int) -> datetime:
    """The time of an instant, to the microsecond below it."""
    return EPOCH + timedelta(microseconds=ns // 1000)
