import { MAIN } from '#config/databases.ts'
import { Unavailable } from '#lib/unavailable.ts'

/** The homes of a process, as far as `T` of each; those that are away come when they can be reached. */
export interface Homes<T> {
  readonly main: T
  /** @throws Unavailable while the home is away, or where the settings name none such. */
  at(name: string): T
  /** Those that are there now, `main` first. */
  present(): readonly { readonly name: string; readonly home: T }[]
}

/** Homes of these names, `main` first, as far as each is there when it is asked for. */
export function homesIn<T>(names: readonly string[], find: (name: string) => T | undefined): Homes<T> {
  const at = (name: string): T => {
    const home = find(name)
    if (home === undefined) throw new Unavailable(`home ${name} is away`)
    return home
  }
  return {
    get main() {
      return at(MAIN)
    },
    at,
    present: () =>
      names.flatMap((name) => {
        const home = find(name)
        return home === undefined ? [] : [{ name, home }]
      }),
  }
}
