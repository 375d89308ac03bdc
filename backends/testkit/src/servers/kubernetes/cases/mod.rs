//! Requests, and what an API server answers to them: one list for the fake and for a real one.
