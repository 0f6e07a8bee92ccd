import type { Pool } from 'pg'

/** Names of those who did things: `user/3` and `api_key/7` of a company. */
export async function listActors(
  pool: Pool,
  companyId: number,
  actors: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ actor: string; name: string }>({
    name: 'list_actors',
    text: `select 'user/' || u.id as actor, u.doc->>'name' as name from users u
           where u.company_id = $1 and u.id = any($2::bigint[])
           union all
           select 'api_key/' || k.id, 'Chave ' || (k.doc->>'name') from api_keys k
           where k.company_id = $1 and k.id = any($3::bigint[])`,
    values: [companyId, idsOf('user/', actors), idsOf('api_key/', actors)],
  })
  return new Map(rows.map(({ actor, name }) => [actor, name]))
}

const idsOf = (prefix: string, actors: readonly string[]): number[] =>
  actors.filter((actor) => actor.startsWith(prefix)).map((actor) => Number(actor.slice(prefix.length)))
