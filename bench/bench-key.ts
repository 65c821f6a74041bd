/** The key of the servers under test; they live as long as a benchmark, on loopback. */
export const benchKey = 'bench';
