import type { ComponentChildren } from 'preact'
import { asset } from '../assets.ts'
import { link } from '../link.ts'
import { LIVE_PATH } from '../live.ts'
import type { PageContext } from '../route.ts'

interface LiveProps {
  readonly visit: PageContext
  /** The revision that the page shows. */
  readonly since: number
  readonly children: ComponentChildren
}

/**
 * Enables live updates, if scripts run: the body receives `mudou` when the ledger moves beyond `since`; parts reload
 * themselves with `hx-trigger="mudou from:body throttle:1s"`. Once per page.
 */
export const Live = ({ visit, since, children }: LiveProps) => (
  <div
    data-live={link(LIVE_PATH)}
    data-since={since}
    data-company={visit.readModel.companyId}
    data-worker={asset('live-worker.js')}
  >
    {children}
  </div>
)
