import type { TestPanel } from '../../support/browser.ts'

/** Creates realistic data for a page, and returns its path below /painel. */
export type Sample = (panel: TestPanel) => Promise<string>

/** Samples by route path. */
export type Samples = Readonly<Record<string, Sample>>
