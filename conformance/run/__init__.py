"""One run: selection, judging, circuit breaker."""
