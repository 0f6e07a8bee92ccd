/** All tables that projections write; it can be dropped and rebuilt from the ledgers. */
export const READ_SCHEMA = 'read'

/** Where a rebuild makes the tables that will take their place. */
export const NEXT_SCHEMA = 'read_next'

/** Where those before are kept until they were compared. */
export const FORMER_SCHEMA = 'read_former'
