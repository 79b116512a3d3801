"""What this folder needs of the machine."""

from __future__ import annotations

import shutil

collect_ignore = [] if shutil.which("java") else ["test_java_example.py"]
