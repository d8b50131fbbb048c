// Runs one claim about the Java client: `Main BOOTSTRAP CLAIM`; exit code 1 and a line when it does not hold.

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;

class Main {
    /** The classes that hold claims: static methods that take a World. */
    static final List<Class<?>> CLAIMS = List.of(Records.class, Groups.class, Administration.class);

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        String claim = arguments[1];
        for (Class<?> holder : CLAIMS) {
            for (Method method : holder.getDeclaredMethods()) {
                if (method.getName().equals(claim)) {
                    System.exit(holds(method, bootstrap) ? 0 : 1);
                }
            }
        }
        throw new IllegalArgumentException("no claim " + claim);
    }

    static boolean holds(Method method, String bootstrap) throws IllegalAccessException {
        try (World world = new World(bootstrap)) {
            method.invoke(null, world);
            return true;
        } catch (InvocationTargetException error) {
            Throwable cause = error.getCause();
            StackTraceElement where = cause.getStackTrace().length > 0 ? cause.getStackTrace()[0] : null;
            for (StackTraceElement element : cause.getStackTrace()) {
                if (!element.getClassName().contains(".")) {
                    where = element;
                    break;
                }
            }
            System.err.println(cause + " at " + where);
            return false;
        }
    }
}
