import { readFile } from 'node:fs/promises'
import { administer } from './database.ts'
import { CARD_FEE, type Shop, STOCK, TIME_ZONE } from './shop.ts'

/** Creates the schema `floor` with the service's shops, under the same ids and keys. */
export async function installFloor(databaseUrl: string, shops: readonly Shop[]): Promise<void> {
  const schema = await readFile(new URL('floor-schema.sql', import.meta.url), 'utf8')
  await administer(databaseUrl, async (client) => {
    await client.query(schema)
    for (const shop of shops) {
      await client.query(`insert into companies (id, name, plan, timezone) values ($1, $2, 'api', $3)`, [
        shop.companyId,
        shop.name,
        TIME_ZONE,
      ])
      // Floor B cannot know a secret, so it uses the company's number as one.
      await client.query(
        `insert into api_keys (company_id, hash, scopes)
         select $1, hash, '{sales:read,sales:write}' from (values ($2::bytea), (sha256($1::bigint::text::bytea))) as v(hash)`,
        [shop.companyId, shop.keyHash],
      )
      await client.query('insert into ledgers (company_id) values ($1)', [shop.companyId])
      await client.query(`insert into payment_types values ($1, $2, 'Cartão', 'card', $3, true)`, [
        shop.companyId,
        shop.cardId,
        CARD_FEE,
      ])
      await client.query(
        `insert into catalog_items (company_id, id, external_id, name, price, stock, stock_updated_at, revision, changed_at)
         select $1, id, 'P-' || number, name, cents / 100.0, $5, now(), number, now()
         from unnest($2::bigint[], $3::text[], $4::bigint[]) with ordinality as v(id, name, cents, number)`,
        [
          shop.companyId,
          shop.items.map((item) => item.id),
          shop.items.map((item) => item.name),
          shop.items.map((item) => item.priceCents),
          STOCK,
        ],
      )
      await client.query(
        `insert into customers (company_id, id, external_id, name) select $1, id, name, name from unnest($2::bigint[], $3::text[]) as v(id, name)`,
        [shop.companyId, shop.customers.map(({ id }) => id), shop.customers.map(({ name }) => name)],
      )
    }
    await client.query('analyze companies, api_keys, ledgers, payment_types, catalog_items')
  })
}
