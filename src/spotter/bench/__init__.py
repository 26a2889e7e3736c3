"""`spotter bench`: where the time goes, and which settings make training faster, by measurement."""
