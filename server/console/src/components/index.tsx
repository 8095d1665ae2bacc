/** Small components that all views share. */

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

import * as format from '../format';
import { type Data, useNow, useTicking } from '../live';
import { href } from '../router';

type PageProps = { title: ComponentChildren; beside?: ComponentChildren; actions?: ComponentChildren; children: ComponentChildren };

export function Page({ title, beside, actions, children }: PageProps) {
  useEffect(() => {
    document.title = typeof title === 'string' ? `${title} · Folkmoot` : 'Folkmoot';
  }, [title]);
  return (
    <>
      <header class="page-head">
        <h1 tabIndex={-1}>{title}</h1>
        {beside}
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

export function Card({
  title,
  note,
  actions,
  children,
}: {
  title: string;
  note?: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
        {actions}
      </header>
      {note && <p class="note">{note}</p>}
      {children}
    </section>
  );
}

/** Shows loaded data, or the error that prevented loading. */
export function Loaded<T>({ data, children }: { data: Data<T>; children: (value: T) => ComponentChildren }) {
  if (data.data !== undefined) {
    return (
      <>
        {data.error && <ErrorNote error={data.error} />}
        {children(data.data)}
      </>
    );
  }
  return data.error ? (
    <ErrorNote error={data.error} again={data.again} />
  ) : (
    <p class="note" role="status">
      Loading…
    </p>
  );
}

export function ErrorNote({ error, again }: { error: Error; again?: () => void }) {
  return (
    <div class="error" role="alert">
      <p>{error.message}</p>
      {again && <Button onClick={again}>Try again</Button>}
    </div>
  );
}

/** The coordinator's notes about attacks that a task does not defend against. Older coordinators send no notes. */
export function Notes({ notes = [] }: { notes?: string[] | undefined }) {
  return (
    <>
      {notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
    </>
  );
}

/** A placeholder for an empty list, which suggests what to do next. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>;
}

type ButtonProps = {
  kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  disabled?: boolean;
  type?: 'button' | 'submit';
  label?: string;
  onClick?: () => void;
  children: ComponentChildren;
};

export function Button({ kind = 'plain', disabled = false, type = 'button', label, onClick, children }: ButtonProps) {
  return (
    <button type={type} class={`button ${kind}`} disabled={disabled} onClick={onClick} {...(label ? { 'aria-label': label } : {})}>
      {children}
    </button>
  );
}

export function Link({ to, children, label }: { to: string; children: ComponentChildren; label?: string }) {
  return (
    <a href={href(to)} {...(label ? { 'aria-label': label } : {})}>
      {children}
    </a>
  );
}

type ActionProps = {
  kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  disabled?: boolean;
  confirm?: { title: string; text: string; word: string } | undefined;
  act: () => Promise<unknown>;
  done?: () => void;
  children: ComponentChildren;
};

/** A button for an action that takes a while. It shows errors, and asks for confirmation if `confirm` is set. */
export function Action({ kind = 'plain', disabled = false, confirm, act, done, children }: ActionProps) {
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const run = async () => {
    dialog.current?.close();
    setBusy(true);
    setError(undefined);
    try {
      await act();
      done?.();
    } catch (caught) {
      setError(caught as Error);
    }
    setBusy(false);
  };
  return (
    <span class="action">
      <Button kind={kind} disabled={disabled || isBusy} onClick={() => (confirm ? dialog.current?.showModal() : void run())}>
        {children}
      </Button>
      {error && <ErrorNote error={error} />}
      {confirm && (
        <dialog ref={dialog} aria-labelledby={id}>
          <h2 id={id}>{confirm.title}</h2>
          <p>{confirm.text}</p>
          <div class="actions">
            <Button onClick={() => dialog.current?.close()}>Keep it as it is</Button>
            <Button kind={kind === 'primary' ? 'primary' : 'danger'} onClick={() => void run()}>
              {confirm.word}
            </Button>
          </div>
        </dialog>
      )}
    </span>
  );
}

export function Time({ at, show = format.at }: { at: number; show?: (at: number) => string }) {
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return <>invalid date</>;
  return (
    <time dateTime={moment.toISOString()} title={`${moment.toISOString()} (UTC)`}>
      {show(at)}
    </time>
  );
}

/** The time since a moment. It counts on while the page is visible. */
export function Elapsed({ since }: { since: number }) {
  return <>{useTicking((now) => format.duration(Math.max(0, now - since)))}</>;
}

/** A moment relative to now, for example `3 min ago`. The tooltip has the absolute times. */
export function Ago({ at }: { at: number }) {
  const said = useTicking((now) => format.relative(at, now));
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return <>invalid date</>;
  return (
    <time dateTime={moment.toISOString()} title={`${format.at(at)} · ${moment.toISOString()} (UTC)`}>
      {said}
    </time>
  );
}

/** A time that is to come, and how far away it is. */
export function Until({ at }: { at: number }) {
  const now = useNow();
  const left = Math.ceil((at - now) / 1000) * 1000;
  return (
    <>
      <Time at={at} show={(at) => format.soon(at, now)} />{' '}
      <span aria-hidden="true">({left > 0 ? `in ${format.duration(left)}` : 'now'})</span>
    </>
  );
}

export function Id({ id }: { id: string }) {
  return <code title={id}>{format.brief(id)}</code>;
}

export function State({ state }: { state: string }) {
  return <span class={`state ${state}`}>{format.words(state)}</span>;
}

export function Facts({ facts }: { facts: [string, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export type Column<T> = { name: string; show: (row: T) => ComponentChildren; isNumber?: boolean };

export function Table<T>({
  caption,
  columns,
  rows,
  keyOf,
}: {
  caption: string;
  columns: Column<T>[];
  rows: T[];
  keyOf: (row: T, index: number) => string | number;
}) {
  return (
    <div class="scroll" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" class={column.isNumber ? 'number' : ''}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map((column) => (
                <td key={column.name} class={column.isNumber ? 'number' : ''}>
                  {column.show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A bar that shows a share of a whole, with the share as a number. */
export function Meter({
  label,
  value,
  max,
  text,
  isBad = false,
}: {
  label: string;
  value: number;
  max: number;
  text: string;
  isBad?: boolean;
}) {
  const share = max > 0 ? Math.min(value / max, 1) : 0;
  const bar = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (bar.current) bar.current.style.width = `${100 * share}%`;
  }, [share]);
  return (
    <div class="meter" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={max} aria-valuenow={value} aria-valuetext={text}>
      <div class={isBad ? 'bar bad' : 'bar'} ref={bar} />
      <span class="meter-label">{label}</span>
      <span class="meter-text">{text}</span>
    </div>
  );
}

type FieldProps = {
  label: string;
  hint?: ComponentChildren | undefined;
  fault?: string | undefined;
  children: (props: { id: string; 'aria-describedby': string; 'aria-invalid': boolean }) => JSX.Element;
};

export function Field({ label, hint, fault, children }: FieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': `${id}-hint`, 'aria-invalid': Boolean(fault) })}
      <div id={`${id}-hint`}>
        {fault && <p class="fault">{fault}</p>}
        {hint && <p class="hint">{hint}</p>}
      </div>
    </div>
  );
}

/** Shows a secret that cannot be shown again, with a button to copy it. */
export function Secret({ name, value }: { name: string; value: string }) {
  const [isCopied, setCopied] = useState(false);
  return (
    <div class="secret" role="status">
      <p>{name}. Save it now: it is shown only once.</p>
      <code>{value}</code>
      <Button onClick={() => void navigator.clipboard?.writeText(value).then(() => setCopied(true))}>{isCopied ? 'Copied' : 'Copy'}</Button>
    </div>
  );
}

/**
 * A long list of rows with equal height that renders only the visible rows. A library for lists would add more code
 * than this component has.
 */
export function LongList({
  caption,
  head,
  total,
  height,
  row,
}: {
  caption: string;
  head: ComponentChildren;
  total: number;
  height: number;
  row: (index: number) => ComponentChildren;
}) {
  const box = useRef<HTMLDivElement>(null);
  const before = useRef<HTMLDivElement>(null);
  const after = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<[number, number]>([0, 30]);
  const measure = () => {
    const element = box.current;
    if (!element) return;
    const first = Math.max(0, Math.floor(element.scrollTop / height) - 5);
    setRange([first, first + Math.ceil(element.clientHeight / height) + 10]);
  };
  useEffect(measure, [total, height]);
  const [first, last] = [Math.min(range[0], total), Math.min(range[1], total)];
  useEffect(() => {
    if (box.current) box.current.style.height = `min(30rem, ${total * height + 2}px)`;
    if (before.current) before.current.style.height = `${first * height}px`;
    if (after.current) after.current.style.height = `${(total - last) * height}px`;
  });
  const rows = [];
  for (let index = first; index < last; index++) rows.push(row(index));
  return (
    <div class="long" role="table" aria-label={caption} aria-rowcount={total + 1}>
      <div class="long-head" role="rowgroup">
        {head}
      </div>
      <div class="long-body" role="rowgroup" ref={box} onScroll={measure} tabIndex={0}>
        <div ref={before} role="presentation" />
        {rows}
        <div ref={after} role="presentation" />
      </div>
    </div>
  );
}
