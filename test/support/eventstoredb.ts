/** An EventStoreDB for tests. */
export interface TestEventStoreDb {
  readonly url: string
  stop(): Promise<void>
}

const IMAGE = 'eventstore/eventstore:23.10.3-bookworm-slim'
const PORT = 2113
const START_TIMEOUT_MS = 120_000

/** The server of EVENTSTORE_URL, or one in a container; null, with a log line, if there is neither. */
export async function findEventStoreDb(): Promise<TestEventStoreDb | null> {
  const { EVENTSTORE_URL } = process.env
  if (EVENTSTORE_URL) return { url: EVENTSTORE_URL, stop: async () => {} }
  try {
    return await startContainer()
  } catch (error) {
    const [reason] = (error as Error).message.split('\n')
    console.log(
      `EventStoreDB tests are skipped: EVENTSTORE_URL is not set, and no container could be started (${reason})`,
    )
    return null
  }
}

async function startContainer(): Promise<TestEventStoreDb> {
  // Imported here, because loading it is useless without a container engine.
  const { GenericContainer, getContainerRuntimeClient, Wait } = await import('testcontainers')
  await getContainerRuntimeClient()
  const container = await new GenericContainer(IMAGE)
    .withEnvironment({ EVENTSTORE_INSECURE: 'true', EVENTSTORE_MEM_DB: 'true', EVENTSTORE_RUN_PROJECTIONS: 'None' })
    .withExposedPorts(PORT)
    .withWaitStrategy(Wait.forHttp('/health/live', PORT).forStatusCodeMatching((status) => status < 300))
    .withStartupTimeout(START_TIMEOUT_MS)
    .start()
  return {
    url: `esdb://${container.getHost()}:${container.getMappedPort(PORT)}?tls=false`,
    stop: async () => void (await container.stop()),
  }
}
