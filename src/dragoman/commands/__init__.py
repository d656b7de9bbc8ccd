"""The commands of ``dragoman`` that work on files and pipes; ``cli`` declares them."""
