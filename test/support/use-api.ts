import { after, before, beforeEach } from 'mocha'
import { startApi, type TestApi, type TestApiOptions, type TestCompany } from './api.ts'
import { openSharedDatabase, useDatabase } from './database.ts'

/** Options of `useApi` for tests that see or change more than their companies: a service with a database of its own. */
export const OWN_DATABASE: TestApiOptions = {}

let shared: Promise<TestApi> | undefined

/** The service of this process: a start and the first queries of its connections take longer than most tests. */
function openShared(): Promise<TestApi> {
  shared ??= openSharedDatabase(() => shared?.then((api) => api.close())).then((url) => startApi(url))
  return shared
}

/**
 * A service for the tests of a `describe`. Without options it is shared by all files of a process, with companies of
 * their own; otherwise it is on its own database, started before the tests and closed after them.
 */
export function useApi(options?: TestApiOptions): TestApi {
  return options ? useOwnApi(options) : useSharedApi()
}

function useSharedApi(): TestApi {
  let api: TestApi | undefined

  before('open the shared service', async () => {
    api = await openShared()
  })

  return standIn('the service', () => api)
}

function useOwnApi(options: TestApiOptions): TestApi {
  const database = useDatabase()
  let api: TestApi | undefined

  before('start the service', async () => {
    api = await startApi(database.url, options)
  })
  after('close the service', () => api?.close())

  return standIn('the service', () => api)
}

interface UsedCompany {
  readonly api: TestApi
  readonly company: TestCompany
}

/** `useApi`, with one company for all tests of the `describe`. */
export const useCompany = (options?: TestApiOptions): UsedCompany => withCompany(before, options)

/** `useApi`, with a new company in each test. */
export const useCompanyPerTest = (options?: TestApiOptions): UsedCompany => withCompany(beforeEach, options)

function withCompany(hook: typeof before | typeof beforeEach, options?: TestApiOptions): UsedCompany {
  const api = useApi(options)
  let company: TestCompany | undefined

  hook('register a company', async () => {
    company = await api.company()
  })

  return { api, company: standIn('the company', () => company) }
}

/** A placeholder that a `describe` can reference before its value exists in the tests. */
export function standIn<T extends object>(what: string, current: () => T | undefined): T {
  return new Proxy({} as T, {
    get(_nothing, name) {
      const object = current()
      if (!object) throw new Error(`${what} exists only while the tests run: use it in a hook or a test`)
      return Reflect.get(object, name)
    },
  })
}
