import { link } from '../link.ts'
import type { PageContext } from '../route.ts'
import { Icon } from './icon.tsx'

/** Global search on every page; the key `/` focuses it. */
export const SearchBox = ({ visit }: { readonly visit: PageContext }) => (
  <search class="find" aria-label="Procurar em tudo">
    <form method="get" action={link('/busca')}>
      {visit.readModel.moment && <input type="hidden" name="em" value={visit.readModel.moment.asked} />}
      <label for="busca" class="hidden">
        Procurar em tudo
      </label>
      <input
        id="busca"
        name="q"
        type="search"
        maxlength={120}
        value={visit.path === '/busca' ? visit.query.q : undefined}
        placeholder="Procurar"
        aria-keyshortcuts="/"
        autocomplete="off"
      />
      <button type="submit" class="quiet">
        <Icon name="search" />
        <span class="hidden">Procurar</span>
      </button>
    </form>
  </search>
)
