"""The generated parts of the documentation: options, exit statuses, figures, the API.

A guide holds such a part between ``<!-- name -->`` and ``<!-- /name -->``. Running
``python -m conformance.guides`` writes them; a test checks the guides against the code.
"""

from __future__ import annotations

from conformance.guides.blocks import BLOCKS, GUIDES, main, stale, with_blocks

__all__ = ["BLOCKS", "GUIDES", "main", "stale", "with_blocks"]
