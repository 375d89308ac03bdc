//! How the API server is reached: where it is, who we are there, and requests with their answers.
