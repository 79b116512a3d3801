"""From staged actions to a commit file: transaction, conflicts, what follows a commit."""
