"""Set Python's clock fourteen years ahead: Python imports a module of this name before any other.

`tools/portable.sh` puts this folder on the path, and every Python that it starts reads the later
date. Durations are still measured by the true clock. Files keep their true dates.
"""

import time

import time_machine

YEAR = 365 * 24 * 3600

# A number of seconds: a date with a time zone would change the process's time zone too.
time_machine.travel(time.time() + 14 * YEAR).start()
