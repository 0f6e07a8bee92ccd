/**
 * Incremented when tables change, or when a projection writes different rows for the same events. The next start then
 * rebuilds them.
 */
export const READ_MODEL_NUMBER = 1
