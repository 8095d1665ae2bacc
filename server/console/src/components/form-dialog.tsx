import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

type FormDialogProps = {
  title: string;
  /** Is called after the dialog has closed. The caller then stops rendering it. */
  closed: () => void;
  children: (close: () => void) => ComponentChildren;
};

/** A dialog with a form. It is open while it is rendered; the form ends with `close`, and Escape closes it, too. */
export function FormDialog({ title, closed, children }: FormDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={closed}>
      <h2 id={id}>{title}</h2>
      {children(() => dialog.current?.close())}
    </dialog>
  );
}
