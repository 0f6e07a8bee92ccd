import type { Case, Cases } from './case.ts'
import type { World } from './world.ts'

interface Resource {
  readonly path: string
  /** Same as in recordRoutes: `Customer`, `Customers`. */
  readonly names: readonly [one: string, many: string]
  /** Body of a record without conflicts and external id. */
  readonly fresh: (world: World) => Readonly<Record<string, unknown>>
  readonly changes: object
  /** Unique field besides the external id. */
  readonly unique: string
}

/** Cases of a resource with all operations of recordRoutes. */
export function recordCases({ path, names: [one, many], fresh, changes, unique }: Resource): Cases {
  const whole = (world: World) => ({ ...fresh(world), external_id: world.unique('ext') })
  const create = (world: World) => world.create(path, whole(world))
  const at =
    (body?: object): Case =>
    async (world) => ({ params: { id: (await create(world)).id }, body })
  /** New record with the unique value of an existing one. */
  const taken = async (world: World) => ({ ...whole(world), [unique]: (await create(world))[unique] })
  return {
    [`list${many}`]: {
      200: async (world) => {
        await create(world)
        return { query: { limit: '1', updated_since: '2020-01-01T00:00:00Z' } }
      },
    },
    [`listDeleted${many}`]: {
      200: async (world) => {
        await world.company.call('DELETE', `${path}/${(await create(world)).id}`)
        return { query: { since: '2020-01-01T00:00:00Z' } }
      },
    },
    [`get${one}`]: { 200: at() },
    [`get${one}ByExternalId`]: {
      200: async (world) => ({ params: { external_id: (await create(world)).external_id } }),
    },
    [`create${one}`]: {
      201: (world) => ({ body: whole(world) }),
      duplicate_resource: async (world) => ({ body: await taken(world) }),
    },
    [`batch${many}`]: {
      200: (world) => ({ body: { items: [whole(world), whole(world)] } }),
      207: (world) => ({ body: { items: [whole(world), {}] } }),
      'item:validation_failed': (world) => ({ body: { items: [{ ...whole(world), unknown: 1 }] } }),
      'item:duplicate_resource': async (world) => ({ body: { items: [await taken(world)] } }),
    },
    [`replace${one}ByExternalId`]: {
      201: (world) => ({ params: { external_id: world.unique('ext') }, body: fresh(world) }),
      200: async (world) => ({ params: { external_id: (await create(world)).external_id }, body: fresh(world) }),
      duplicate_resource: async (world) => {
        const { external_id, ...body } = await taken(world)
        return { params: { external_id }, body }
      },
    },
    [`update${one}`]: {
      200: at(changes),
      duplicate_resource: async (world) => {
        const { external_id } = await create(world)
        return { params: { id: (await create(world)).id }, body: { external_id } }
      },
    },
    [`delete${one}`]: { 204: at() },
  }
}
