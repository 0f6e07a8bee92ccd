import { type CustomerRow, customerByExternalId, customerByName } from '../../projections/customers.ts'
import type { Lookups } from '../persons/unique-fields.ts'

/** Names and external ids are unique among customers, not across the kinds of persons. */
export const customerLookups: Lookups<CustomerRow> = { byName: customerByName, byExternalId: customerByExternalId }
