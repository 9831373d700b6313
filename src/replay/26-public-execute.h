/* ==== 9. Captures and execution ========================================== */

/*
    What a trace holds to run its operations again (docs/execution.md). All of
    it is checked when it is read: counts and sizes fit the record, but
    addresses, hashes and names say what the file says.
*/
typedef struct ts_capture {
    ts_capture_operation head;
    const ts_capture_param *params;   // head.param_count
    const uint8_t *args;              // head.args_size
    const ts_capture_region *regions; // head.region_count
} ts_capture;

// By position in the file, from 0, false past the end. Damaged records are
// left out and stand in the reader's list.
TS_API bool ts_reader_capture(ts_reader *reader, size_t index,
                              ts_capture *capture);
TS_API size_t ts_reader_capture_count(ts_reader *reader);
// Code by its number; false if the trace does not have it.
TS_API bool ts_reader_image(ts_reader *reader, uint32_t id,
                            ts_capture_image *image);
TS_API bool ts_reader_image_at(ts_reader *reader, size_t index,
                               ts_capture_image *image);

// "VA_UNAVAILABLE", ...; an unknown number gives "unknown".
TS_API const char *ts_reason_name(uint32_t reason);
