"""The paper's comparison, run anew: `make paper`."""
