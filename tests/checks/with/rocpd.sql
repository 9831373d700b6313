-- What rocprofv3 writes: a kernel and its call.
CREATE TABLE rocpd_string_0a (id INTEGER PRIMARY KEY, string TEXT);
INSERT INTO rocpd_string_0a VALUES (1, 'HIP_RUNTIME_API'),
    (2, 'hipLaunchKernel');
CREATE TABLE rocpd_info_process_0a (id INTEGER, pid INTEGER, command TEXT);
INSERT INTO rocpd_info_process_0a VALUES (1, PROCESS, 'app');
CREATE TABLE rocpd_info_thread_0a (id INTEGER, pid INTEGER, tid INTEGER,
    name TEXT);
INSERT INTO rocpd_info_thread_0a VALUES (1, 1, PROCESS, '');
CREATE TABLE rocpd_info_agent_0a (id INTEGER, type TEXT, type_index INTEGER,
    product_name TEXT);
INSERT INTO rocpd_info_agent_0a VALUES (2, 'GPU', 0, 'MI300X');
CREATE TABLE rocpd_info_kernel_symbol_0a (id INTEGER, display_name TEXT);
INSERT INTO rocpd_info_kernel_symbol_0a VALUES (40, 'gemm');
CREATE TABLE rocpd_event_0a (id INTEGER, category_id INTEGER, stack_id INTEGER);
INSERT INTO rocpd_event_0a VALUES (1, 1, 500);
CREATE TABLE rocpd_region_0a (id INTEGER, tid INTEGER, start INTEGER,
    end INTEGER, name_id INTEGER, event_id INTEGER);
INSERT INTO rocpd_region_0a VALUES (1, 1, 20, 30, 2, 1);
CREATE TABLE rocpd_kernel_dispatch_0a (id INTEGER, agent_id INTEGER,
    kernel_id INTEGER, queue_id INTEGER, stream_id INTEGER, start INTEGER,
    end INTEGER, workgroup_size_x INTEGER, workgroup_size_y INTEGER,
    workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER,
    grid_size_z INTEGER, event_id INTEGER);
INSERT INTO rocpd_kernel_dispatch_0a VALUES
    (1, 2, 40, 9, 0, 40, 50, 256, 1, 1, 1024, 1, 1, 1);
