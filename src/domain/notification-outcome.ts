/** What came of a notification (DESIGN section 5). `refused`: it was wrong; `failed`: it was not, and should come again. */
export const NOTIFICATION_OUTCOMES = ['applied', 'duplicate', 'stale', 'ignored', 'refused', 'failed'] as const
export type NotificationOutcome = (typeof NOTIFICATION_OUTCOMES)[number]
