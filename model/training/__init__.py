"""How the zoo's models are trained: `chumoku train`. The app imports nothing from here."""
