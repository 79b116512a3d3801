"""What a store of results is asked, as SQL that DuckDB and Spark both run.

A question joins the views ``runs`` and ``results``, and ``named`` where it is about some
requirements. A case is bad in a release where a run of it failed or gave no verdict, and good
where one was answered as the text allows; what is not claimed, or blocked, is neither.
"""

from __future__ import annotations

from typing import Final

RUNS: Final = """
SELECT run_id, implementation, engine_version, revision, label, kit_version, records, selected,
       judged, status
FROM runs ORDER BY implementation, release_key, revision, label, run_id
"""
"""Every run of the store."""

RELEASES: Final = """
WITH states AS (
  SELECT u.implementation, u.revision, u.release_key, min(u.engine_version) AS engine_version,
         r.case_id,
         max(CASE WHEN r.outcome IN ('fail', 'error') THEN 1 ELSE 0 END) AS bad,
         max(CASE WHEN r.outcome IN ('pass', 'open', 'advice') THEN 1 ELSE 0 END) AS good
  FROM runs u JOIN results r ON r.run_id = u.run_id
  GROUP BY u.implementation, u.revision, u.release_key, r.case_id),
last_bad AS (
  SELECT implementation, revision, case_id, max(release_key) AS release_key
  FROM states WHERE bad = 1 GROUP BY implementation, revision, case_id),
last_good AS (
  SELECT s.implementation, s.revision, s.case_id, max(s.release_key) AS release_key
  FROM states s JOIN last_bad b ON s.implementation = b.implementation
    AND s.revision = b.revision AND s.case_id = b.case_id
  WHERE s.good = 1 AND s.bad = 0 AND s.release_key < b.release_key
  GROUP BY s.implementation, s.revision, s.case_id),
first_bad AS (
  SELECT s.implementation, s.revision, s.case_id, min(s.release_key) AS release_key
  FROM states s LEFT JOIN last_good g ON s.implementation = g.implementation
    AND s.revision = g.revision AND s.case_id = g.case_id
  WHERE s.bad = 1 AND (g.release_key IS NULL OR s.release_key > g.release_key)
  GROUP BY s.implementation, s.revision, s.case_id),
fixed AS (
  SELECT s.implementation, s.revision, s.case_id, min(s.release_key) AS release_key
  FROM states s JOIN last_bad b ON s.implementation = b.implementation
    AND s.revision = b.revision AND s.case_id = b.case_id
  WHERE s.good = 1 AND s.bad = 0 AND s.release_key > b.release_key
  GROUP BY s.implementation, s.revision, s.case_id),
names AS (
  SELECT implementation, release_key, min(engine_version) AS engine_version
  FROM runs GROUP BY implementation, release_key)
SELECT b.implementation, b.revision, b.case_id, ng.engine_version AS last_good,
       nf.engine_version AS first_bad, nb.engine_version AS last_bad,
       nx.engine_version AS fixed_in
FROM last_bad b
JOIN first_bad f ON f.implementation = b.implementation AND f.revision = b.revision
  AND f.case_id = b.case_id
LEFT JOIN last_good g ON g.implementation = b.implementation AND g.revision = b.revision
  AND g.case_id = b.case_id
LEFT JOIN fixed x ON x.implementation = b.implementation AND x.revision = b.revision
  AND x.case_id = b.case_id
JOIN names nb ON nb.implementation = b.implementation AND nb.release_key = b.release_key
JOIN names nf ON nf.implementation = b.implementation AND nf.release_key = f.release_key
LEFT JOIN names ng ON ng.implementation = b.implementation AND ng.release_key = g.release_key
LEFT JOIN names nx ON nx.implementation = b.implementation AND nx.release_key = x.release_key
ORDER BY b.implementation, b.revision, f.release_key, b.case_id
"""
"""Of each case that was ever bad: the last good release before it was, and the first bad one."""

FLAKY: Final = """
SELECT u.implementation, u.engine_version, u.revision, r.case_id, count(*) AS runs,
       CAST(sum(CASE WHEN r.outcome IN ('fail', 'error') THEN 1 ELSE 0 END) AS BIGINT) AS bad,
       min(r.outcome) AS one_outcome, max(r.outcome) AS other_outcome,
       max(r.message) AS message
FROM runs u JOIN results r ON r.run_id = u.run_id
GROUP BY u.implementation, u.engine_version, u.release_key, u.adapter_version, u.revision,
         u.kit_version, u.corpus_digest, r.case_id
HAVING count(DISTINCT concat(r.outcome, '/', coalesce(r.hazard, ''), '/',
                             coalesce(r.seen, ''), '/', coalesce(r.requirement, ''))) > 1
ORDER BY u.implementation, u.release_key, u.revision, r.case_id
"""
"""Cases that runs of one release by one kit and one corpus judge differently."""

TOUCHED: Final = """
WITH latest AS (
  SELECT u.implementation, u.revision, r.case_id, max(u.release_key) AS release_key
  FROM runs u JOIN results r ON r.run_id = u.run_id
  GROUP BY u.implementation, u.revision, r.case_id)
SELECT n.requirement, r.case_id, u.implementation, u.engine_version, u.revision,
       min(r.outcome) AS outcome
FROM named n
JOIN results r ON array_contains(r.requirements, n.requirement)
JOIN runs u ON u.run_id = r.run_id
JOIN latest l ON l.implementation = u.implementation AND l.revision = u.revision
  AND l.case_id = r.case_id AND l.release_key = u.release_key
GROUP BY n.requirement, r.case_id, u.implementation, u.engine_version, u.revision
ORDER BY n.requirement, r.case_id, u.implementation, u.revision
"""
"""Cases of some requirements, and how each implementation's latest release does at them."""
