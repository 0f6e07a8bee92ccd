import type { Field, Fields, FilledForm } from '../forms/panel-form.ts'
import { link } from '../page-context.ts'
import type { PageContext } from '../panel-route.ts'
import { CameraScript, FieldList, ScanButton, toFieldId } from './form-fields.tsx'
import { Icon } from './page-parts.tsx'

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
      {visit.path === '/busca' ? (
        <>
          <ScanButton field="busca" sends begins={visit.query.camera !== undefined}>
            <span class="hidden">Ler com a câmera</span>
          </ScanButton>
          <CameraScript />
        </>
      ) : (
        <a class="button" href={link('/busca', { camera: 'sim' })} data-camera hidden>
          <Icon name="camera" />
          <span class="hidden">Ler com a câmera</span>
        </a>
      )}
      <button type="submit" class="quiet">
        <Icon name="search" />
        <span class="hidden">Procurar</span>
      </button>
    </form>
  </search>
)

interface FilterProps {
  readonly path: string
  readonly fields: Fields
  readonly filled: FilledForm
  /** Id of the list element, which htmx replaces while the user types. */
  readonly target: string
  /** Preserved parameters of the address: `?em=` and the order. */
  readonly kept?: Readonly<Record<string, string | undefined>>
}

/** A field that says within its control what may be typed. */
function namedWithin({ hint, ...field }: Field): Field {
  const { control } = field.kind
  if (control.as === 'input')
    return { ...field, kind: { ...field.kind, control: { ...control, placeholder: hint ?? field.label } } }
  if (control.as === 'select') return { ...field, kind: { ...field.kind, control: { ...control, none: field.label } } }
  return field
}

/**
 * Filters of a list in one line: the first one visible, the others on demand. The address contains them, so that a page
 * can be bookmarked and shared.
 */
export const Filters = ({ path, fields, filled, target, kept = {} }: FilterProps) => {
  const [first, ...others] = Object.entries(fields)
  const set = others.filter(([name]) => filled.values[name]?.some(Boolean)).length
  return (
    <search aria-label="Filtros">
      <form
        method="get"
        action={link(path)}
        class="filters"
        hx-get={link(path)}
        hx-trigger="input changed delay:400ms, submit"
        hx-select={`#${target}`}
        hx-target={`#${target}`}
        hx-swap="outerHTML"
        hx-push-url="true"
      >
        {Object.entries(kept).map(
          ([name, value]) => value && <input key={name} type="hidden" name={name} value={value} />,
        )}
        {first && <FieldList fields={{ [first[0]]: namedWithin(first[1]) }} filled={filled} />}
        <button type="submit">
          <Icon name="search" />
          <span class="hidden">Filtrar</span>
        </button>
        {others.length > 0 && (
          <details open={others.some(([name]) => filled.errors[name])}>
            <summary>
              <Icon name="filter" />
              <span>Filtros</span>
              {set > 0 && `(${set})`}
            </summary>
            <FieldList fields={Object.fromEntries(others)} filled={filled} />
          </details>
        )}
      </form>
    </search>
  )
}

interface FilterChipsProps {
  readonly path: string
  readonly fields: Fields
  readonly filled: FilledForm
  readonly query: PageContext['query']
  /** Filters that other chips show. */
  readonly shown: ReadonlySet<string>
}

/** What a filter is set to, in words. */
function valueInWords({ kind: { control } }: Field, values: readonly string[]): string {
  const labelOf = (value: string) =>
    'options' in control ? (control.options.find((option) => option.value === value)?.label ?? value) : value
  if (control.as === 'checkbox') return ''
  if (control.as === 'input' && control.type === 'date')
    return values.map((value) => value.split('-').reverse().join('/')).join(', ')
  return values.map(labelOf).join(', ')
}

/** The filters in use, on paper, where no chips are. */
export const PrintedFilters = ({ fields, filled }: Pick<FilterChipsProps, 'fields' | 'filled'>) => {
  const set = Object.entries(fields).filter(([name]) => filled.values[name]?.some(Boolean))
  if (set.length === 0) return null
  const parts = set.map(([name, field]) => {
    const words = valueInWords(field, filled.values[name] ?? [])
    return words === '' ? field.label : `${field.label}: ${words}`
  })
  return <p class="paper">{parts.join(' · ')}</p>
}

/** The filters in use, each with a link that removes it, and one that removes all. */
export const FilterChips = ({ path, fields, filled, query, shown }: FilterChipsProps) => {
  const set = Object.entries(fields).filter(([name]) => filled.values[name]?.some(Boolean))
  const chips = set.filter(([name]) => !shown.has(name))
  if (chips.length === 0) return null
  const without = (names: readonly string[]) =>
    link(path, Object.fromEntries(Object.entries(query).filter(([name]) => name !== 'cursor' && !names.includes(name))))
  return (
    <ul class="chips" aria-label="Filtros em uso">
      {chips.map(([name, field]) => {
        const words = valueInWords(field, filled.values[name] ?? [])
        return (
          <li key={name}>
            <a class="chip set" href={without([name])}>
              {words === '' ? field.label : `${field.label}: ${words}`}
              <span aria-hidden="true">×</span>
              <span class="hidden"> (remover)</span>
            </a>
          </li>
        )
      })}
      {set.length > 1 && (
        <li>
          <a class="chip quiet" href={without(set.map(([name]) => name))}>
            {`Limpar ${set.length} filtros`}
          </a>
        </li>
      )}
    </ul>
  )
}

/** Problems of filters, rendered in the replaced part of the page; scripts mark the fields, which are not replaced. */
export const FilterProblems = ({ fields, filled }: { readonly fields: Fields; readonly filled: FilledForm }) =>
  filled.problem === null ? null : (
    <ul class="problem" role="alert">
      {Object.entries(filled.errors).map(([name, messages]) => (
        <li key={name} data-field={toFieldId(name)}>{`${fields[name]?.label}: ${messages.join('; ')}`}</li>
      ))}
      {Object.keys(filled.errors).length === 0 && <li>{filled.problem}</li>}
    </ul>
  )
