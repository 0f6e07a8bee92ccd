import { link } from '../link.ts'
import type { Visit } from '../route.ts'

/** Asks for the same page as it was at a date and time of the past. */
export const AsOfForm = ({ visit }: { readonly visit: Visit }) => (
  <section class="card">
    <h2>Como era em…</h2>
    <form method="get" action={link(visit.path)} class="form">
      <div class="fields">
        <div class="field w6">
          <label for="em">Data e hora</label>
          <input id="em" name="em" type="datetime-local" required aria-describedby="em-dica" />
          <p class="hint" id="em-dica">
            Mostra este registro como estava naquele momento, a partir do livro.
          </p>
        </div>
      </div>
      <div class="actions">
        <button type="submit">Ver</button>
      </div>
    </form>
  </section>
)
