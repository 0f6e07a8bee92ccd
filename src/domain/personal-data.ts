/**
 * Parts of personal data that are encrypted and erased together: `identity` is needed by fiscal documents and open
 * accounts, `contact` by no law.
 */
export const PERSON_PARTS = ['identity', 'contact'] as const
export type PersonPart = (typeof PERSON_PARTS)[number]

/**
 * Kinds of records with personal data: first half of a subject, as in `customer/9`. An order has those of buyer and
 * payer.
 */
export const PERSON_KINDS = ['customer', 'supplier', 'user', 'order'] as const
export type PersonKind = (typeof PERSON_KINDS)[number]

/** Replaces personal data that the reader may not see. Null values stay null. */
export const MASKED = '(retido)'
