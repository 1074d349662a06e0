"""The paper's comparison, repeated: `make paper`."""
