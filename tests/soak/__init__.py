"""Everything that looks for defects at random, for as long as there is time."""
