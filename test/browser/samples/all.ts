import type { TestPanel } from '../../support/browser.ts'
import { accountSamples } from './accounts.ts'
import { auditSamples } from './audit.ts'
import { catalogSamples } from './catalog.ts'
import { importSamples } from './imports.ts'
import { integrationSamples } from './integrations.ts'
import { personSamples } from './persons.ts'
import { saleSamples } from './sales.ts'
import type { Samples } from './sample.ts'
import { settingsSamples } from './settings.ts'
import { storeSamples } from './store.ts'

/** Samples of all pages of the panel, by route path. */
export const SAMPLES: Samples = {
  '/': async () => '',
  ...personSamples,
  ...catalogSamples,
  ...importSamples,
  ...accountSamples,
  ...integrationSamples,
  ...auditSamples,
  ...settingsSamples,
  ...storeSamples,
  ...saleSamples,
}

/** Address for a form route: derived from the page that has all its parameters. */
export async function addressOf(panel: TestPanel, route: string): Promise<string> {
  const above = route.split('/').map((_, at, parts) => parts.slice(0, parts.length - at).join('/') || '/')
  const page = above.find((path) => Object.hasOwn(SAMPLES, path)) ?? '/'
  const rest = page === '/' ? route : route.slice(page.length)
  if (rest.includes(':')) throw new Error(`no sample knows the records of ${route}`)
  return `/painel${await SAMPLES[page]?.(panel)}${rest === '/' ? '' : rest}`
}
