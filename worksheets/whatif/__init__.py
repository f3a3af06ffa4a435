"""What-if on any sheet: what sways a result, how sure it is, what meets a goal, and what sets two plans apart."""
