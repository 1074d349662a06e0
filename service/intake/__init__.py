"""Bodies on their way in: bounded, decoded where they can do no harm, checked, and explained where they are wrong."""
