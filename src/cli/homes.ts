import { addressesOf, MAIN } from '#config/config.ts'
import { refuse } from '#domain/refusal.ts'
import type { HomeFigures } from '#homes/directory.ts'
import { prepareHome } from '#homes/prepare.ts'
import { masterKeysOf } from '#master-key/keys.ts'
import { type Context, Refused, type Verbs } from './verb.ts'

/** A home of the directory by its name. @throws Refused */
async function homeNamed(context: Context, name: string): Promise<HomeFigures> {
  const directory = await context.directory()
  const home = (await directory.homes()).find((each) => each.name === name)
  if (!home) throw new Refused(refuse('not_found', { home: name }))
  return home
}

export const verbs: Verbs<'home'> = {
  'home add': {
    async run(context, { name }) {
      const { config } = context
      const named = config.HOMES?.find((each) => each.name === name)
      if (!named) throw new Refused(refuse('not_found', { home: name, setting: 'HOMES' }))
      const [{ pool: giver }, directory] = [await context.core(), await context.directory()]
      let excess: readonly string[] = []
      const onExcess = (found: readonly string[]) => {
        excess = found
      }
      await prepareHome({ name, giver, ...addressesOf(config, named), masterKeys: masterKeysOf(config), onExcess })
      // What is served already is found through the directory from the first moment on.
      await directory.addHome(MAIN)
      await directory.addHome(name)
      return { ...(await homeNamed(context, name)), excess: excess.join(', ') }
    },
    isBad: (result) => (result as { excess: string }).excess !== '',
  },
  'home list': {
    async run(context) {
      const homes = await (await context.directory()).homes()
      return Promise.all(
        homes.map(async ({ name, ...figures }) => ({ name, ...figures, reachable: await isReachable(context, name) })),
      )
    },
  },
  'home drain': {
    async run(context, { name, undo }) {
      await homeNamed(context, name)
      await (await context.directory()).drain(name, undo === undefined)
      return homeNamed(context, name)
    },
  },
}

const isReachable = (context: Context, home: string): Promise<boolean> =>
  context.core({ home }).then(
    () => true,
    () => false,
  )
