import { MAIN } from '#config/config.ts'
import { Unavailable } from '#lib/unavailable.ts'

/** The homes of a process, as far as `T` of each; those that are away come when they can be reached. */
export interface Homes<T> {
  /** All that the settings name, `main` first. */
  readonly names: readonly string[]
  readonly main: T
  /** @throws Unavailable while the home is away, or where the settings name none such. */
  at(name: string): T
  /** Those that are there now, `main` first. */
  present(): readonly { readonly name: string; readonly home: T }[]
}

/** Those that were opened, by name; `main` may still come. */
export function homesIn<T>(opened: ReadonlyMap<string, T>, names: readonly string[] = [...opened.keys()]): Homes<T> {
  const at = (name: string): T => {
    const home = opened.get(name)
    if (home === undefined) throw new Unavailable(`home ${name} is away`)
    return home
  }
  return {
    names,
    get main() {
      return at(MAIN)
    },
    at,
    present: () => [...opened].map(([name, home]) => ({ name, home })),
  }
}
