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
