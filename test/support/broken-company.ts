import { ownerUrlOf } from './database.ts'
import { administer } from './server.ts'

interface Fault {
  /** Writing a row of this table fails, as `ops.notifications`. */
  readonly table: string
  readonly companyId: number
  /** The column that says which company a row belongs to. */
  readonly column?: string
}

/**
 * Runs `work` while Postgres refuses to write one company's rows to a table: jobs for all companies must continue with
 * the others.
 */
export async function whileBroken<T>(
  databaseUrl: string,
  { table, companyId, column = 'company_id' }: Fault,
  work: () => Promise<T>,
): Promise<T> {
  const asOwner = (text: string) => administer(ownerUrlOf(databaseUrl), (client) => client.query(text))
  await asOwner(`
    create function public.refuse_row() returns trigger language plpgsql as $$ begin raise 'refused by the test'; end $$;
    create trigger refuse_row before insert or update on ${table}
      for each row when (new.${column} = ${companyId}) execute function public.refuse_row()`)
  try {
    return await work()
  } finally {
    await asOwner(`drop trigger refuse_row on ${table}; drop function public.refuse_row()`)
  }
}
