import { repeat } from '#background/repeat.ts'
import { type Inconsistency, inconsistencyMessage } from '#integrity/proofs/installation-check.ts'
import { type PaymentProvider, ProviderMisconfigured } from '#payments/provider-port.ts'
import type { RunningRole, SharedServices } from './role.ts'

/** What was recorded between two looks may be lost in a restore without DATA_DIR showing it. */
const LOOK_MS = 15_000
/** How soon work begins after an operator has confirmed a restore. */
const TROUBLED_LOOK_MS = 2_000

interface Watching extends Pick<SharedServices, 'core' | 'metrics' | 'logger' | 'log'> {
  /** Starts whatever writes, asks, delivers and seals by itself. */
  readonly begin: () => unknown
  /** The process cannot go on. */
  readonly onEnd: () => void
}

/**
 * Lets the roles that nobody calls begin as soon as database, DATA_DIR and event store belong together (OPS-80), and looks for as
 * long as the process lives: one that finds out at work that they do not any more ends, and its next start tells why.
 */
export function watchInstallation({ core, metrics, logger, log, begin, onEnd }: Watching): RunningRole {
  const { standing } = core
  let hasBegun = false
  let told: Inconsistency | null = null
  const tell = (trouble: Inconsistency | null) => {
    if (trouble && trouble !== told) logger.error({ installation: trouble }, inconsistencyMessage(trouble))
    told = trouble
  }
  function act(trouble: Inconsistency | null): void {
    tell(trouble)
    // What reaches out was made before anybody knew.
    const mustEnd = trouble ? hasBegun : !hasBegun && wasCopy !== standing.isCopy()
    if (mustEnd) onEnd()
    else if (!trouble && !hasBegun) {
      hasBegun = true
      begin()
    }
  }
  const wasCopy = standing.isCopy()
  if (wasCopy) logger.warn('this is a copy: it delivers, e-mails and asks nobody')
  metrics.gauge(
    'tillbook_installation_held',
    '1 while nothing is recorded, because database, DATA_DIR and event store do not belong together',
    () => (standing.trouble() ? 1 : 0),
  )
  act(standing.trouble())
  const looking = repeat(
    async () => {
      const trouble = await standing.look()
      act(trouble)
      if (!trouble) await standing.note()
    },
    () => (standing.trouble() ? TROUBLED_LOOK_MS : LOOK_MS),
    (error) => log('database, DATA_DIR and event store could not be compared', error),
  )
  return {
    async stop() {
      await looking.stop()
      if (!standing.trouble()) await standing.note()
    },
  }
}

/** Of a copy nothing goes out: no letters, no checkpoints, and no store's account at the payment provider is touched (OPS-86). */
export const asCopy = ({ config }: Pick<SharedServices, 'config'>): Pick<SharedServices, 'config' | 'provider'> => ({
  config: { ...config, SMTP_URL: undefined, ...NO_OUTSIDERS },
  provider: NO_PROVIDER,
})

const NO_OUTSIDERS = {
  WITNESS_URLS: undefined,
  SEAL_TSA_URL: undefined,
  SEAL_PUSH_URL: undefined,
  SEAL_PUSH_FOLDER: undefined,
}

const refused = (): Promise<never> => Promise.reject(new ProviderMisconfigured('a copy asks no payment provider'))

const NO_PROVIDER: PaymentProvider = {
  createPayment: refused,
  cancelPayment: refused,
  createRefund: refused,
  getPayment: refused,
  getPaymentMethods: refused,
  getCardOptions: refused,
  findPayments: refused,
}
