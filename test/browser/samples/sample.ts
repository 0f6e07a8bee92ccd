import type { TestPanel } from '../../support/browser.ts'

/** Puts in place what a page shows, filled as in a shop that uses it, and returns its address below /painel. */
export type Sample = (panel: TestPanel) => Promise<string>

/** Samples by the path of their route. */
export type Samples = Readonly<Record<string, Sample>>
