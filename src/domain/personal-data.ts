/**
 * What of a person is sealed, and forgotten, together: `identity` is what a fiscal document or an open account needs,
 * `contact` what no law does.
 */
export const PARTS = ['identity', 'contact'] as const
export type Part = (typeof PARTS)[number]

/** Whose personal data there are: first half of a subject, as `customer/9`. An order's are its buyer's and payer's. */
export const PERSON_KINDS = ['customer', 'supplier', 'user', 'order'] as const
export type PersonKind = (typeof PERSON_KINDS)[number]

/** Stands in the place of personal data that whoever looks may not be told. Nothing that is null is withheld: there is nothing. */
export const WITHHELD = '(retido)'
