"""What every part of the kit needs: outcomes, faults, limits, untrusted documents."""
