/** The mark of the page; the same as its icon in the tab. */
export function Brand() {
  return (
    <svg className="brand" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="7" />
      <path d="M9 24V8h8a5 5 0 0 1 0 10H9m7 0 7 6" />
    </svg>
  );
}
