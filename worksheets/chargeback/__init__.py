"""W18, chargeback: card-hours and their cost from Slurm's accounting."""
