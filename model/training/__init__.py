"""How the zoo's models were made: `chumoku train`. Nothing here is imported when the app runs."""
